import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as n}from"./chunk-ATHUB4JV.js";import"./chunk-GURO5DLS.js";import{a as t}from"./chunk-H7UOANYS.js";import"./chunk-65NZQC3W.js";function u(){let r=n();if("absent"in r)return r.absent;try{return r.native.forbidDump(),null}catch(e){return t(e)}}export{u as forbidDump};
