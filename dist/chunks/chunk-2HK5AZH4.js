import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{a as o}from"./chunk-XD24CIZ6.js";import{styleText as s}from"node:util";function y(r,e){return r.map(t=>`${a(typeof t=="string"?[t]:t,e)}
`).join("")}function a(r,e){return r.map(t=>{if(typeof t=="string")return i(t);let n=i(t[1]);return e?s(t[0],n,{validateStream:!1}):n}).join("")}function i(r){return o(r,!0)}function p(r,e){return r!=="auto"?r==="always":e.isTTY===!0&&e.hasColors()}function d(r,e="  "){return r.replace(/\n$/,"").split(`
`).map(t=>{let n=t.startsWith("+")?"green":t.startsWith("-")?"red":null;return n===null?`${e}${t}`:[e,[n,t]]})}export{y as a,p as b,d as c};
