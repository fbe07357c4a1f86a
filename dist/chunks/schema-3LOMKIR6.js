import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as t}from"./chunk-BXPL3YFY.js";import{v as o}from"./chunk-CF5BVOQL.js";import"./chunk-OIC3KPNM.js";import"./chunk-QHQC5HAF.js";import"./chunk-HLHRVMA6.js";var a=async()=>{let n=o(),e=JSON.stringify(n,null,2).split(`
`);return{kind:"Schema",exitCode:t.done,data:{schema:n},findings:[],lines:e}};export{a as schema};
