import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as t}from"./chunk-E5UBKR23.js";import{v as o}from"./chunk-VNQBEGW3.js";import"./chunk-GG5IIQ7A.js";import"./chunk-LLMKBBS5.js";import"./chunk-HLHRVMA6.js";var a=async()=>{let n=o(),e=JSON.stringify(n,null,2).split(`
`);return{kind:"Schema",exitCode:t.done,data:{schema:n},findings:[],lines:e}};export{a as schema};
