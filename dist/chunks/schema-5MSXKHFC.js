import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as t}from"./chunk-LRIV6X7T.js";import{y as o}from"./chunk-J7VUXJEG.js";import"./chunk-RITBIJWY.js";import"./chunk-2RGCML6F.js";import"./chunk-PVVC43ZY.js";import"./chunk-ADLVGRY3.js";import"./chunk-E5P23GX2.js";import"./chunk-AQHC2CKL.js";import"./chunk-7XO3BNF7.js";import"./chunk-HLHRVMA6.js";var a=async()=>{let n=o(),e=JSON.stringify(n,null,2).split(`
`);return{kind:"Schema",exitCode:t.done,data:{schema:n},findings:[],lines:e}};export{a as schema};
