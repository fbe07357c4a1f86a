import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as n}from"./chunk-YP4GMKH6.js";import"./chunk-AQM6CKWG.js";import{a as t}from"./chunk-M55VIPOT.js";import"./chunk-7G26DDVY.js";function u(){let r=n();if("absent"in r)return r.absent;try{return r.native.forbidDump(),null}catch(e){return t(e)}}export{u as forbidDump};
