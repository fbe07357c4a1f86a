import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as t}from"./chunk-QSL55HB5.js";import{v as o}from"./chunk-QI7REXXV.js";import"./chunk-4XH4YNTI.js";import"./chunk-QQ7INIFG.js";import"./chunk-HLHRVMA6.js";var a=async()=>{let n=o(),e=JSON.stringify(n,null,2).split(`
`);return{kind:"Schema",exitCode:t.done,data:{schema:n},findings:[],lines:e}};export{a as schema};
