import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as t}from"./chunk-MJXYFFMZ.js";import{x as o}from"./chunk-C4BSR7US.js";import"./chunk-MUZ5CTT4.js";import"./chunk-RITBIJWY.js";import"./chunk-2RGCML6F.js";import"./chunk-DHFJEDKB.js";import"./chunk-WGI7XRGH.js";import"./chunk-FIWI3WXI.js";import"./chunk-7XO3BNF7.js";import"./chunk-HLHRVMA6.js";var a=async()=>{let n=o(),e=JSON.stringify(n,null,2).split(`
`);return{kind:"Schema",exitCode:t.done,data:{schema:n},findings:[],lines:e}};export{a as schema};
