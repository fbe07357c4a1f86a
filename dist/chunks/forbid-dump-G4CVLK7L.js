import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as n}from"./chunk-G5AT2IMN.js";import{a as t}from"./chunk-ADLVGRY3.js";import"./chunk-HLHRVMA6.js";function u(){let r=n();if("absent"in r)return r.absent;try{return r.native.forbidDump(),null}catch(e){return t(e)}}export{u as forbidDump};
