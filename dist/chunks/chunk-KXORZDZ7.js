import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{styleText as i}from"node:util";function a(r,e){return r.map(t=>`${u(typeof t=="string"?[t]:t,e)}
`).join("")}function u(r,e){return r.map(t=>{if(typeof t=="string")return o(t);let n=o(t[1]);return e?i(t[0],n,{validateStream:!1}):n}).join("")}function o(r){return r.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,e=>`\\u{${e.codePointAt(0)?.toString(16)}}`)}function l(r,e){return r!=="auto"?r==="always":e.isTTY===!0&&e.hasColors()}function f(r,e="  "){return r.replace(/\n$/,"").split(`
`).map(t=>{let n=t.startsWith("+")?"green":t.startsWith("-")?"red":null;return n===null?`${e}${t}`:[e,[n,t]]})}export{a,l as b,f as c};
