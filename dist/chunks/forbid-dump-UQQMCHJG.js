import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as n}from"./chunk-WPGI6KYK.js";import"./chunk-N6EFF6OR.js";import{a as t}from"./chunk-UL5CMGD3.js";import"./chunk-7G26DDVY.js";function u(){let r=n();if("absent"in r)return r.absent;try{return r.native.forbidDump(),null}catch(e){return t(e)}}export{u as forbidDump};
