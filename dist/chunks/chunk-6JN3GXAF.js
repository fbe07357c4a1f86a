import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{styleText as s}from"node:util";var u=/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\ufff0-\ufffb]/gu;function o(e,n){return e.replace(u,t=>n&&(t===`
`||t==="	")?t:`\\u{${t.codePointAt(0)?.toString(16)}}`)}function d(e,n){return e.map(t=>`${l(typeof t=="string"?[t]:t,n)}
`).join("")}function l(e,n){return e.map(t=>{if(typeof t=="string")return i(t);let r=i(t[1]);return n?s(t[0],r,{validateStream:!1}):r}).join("")}function i(e){return o(e,!0)}function y(e,n){return e!=="auto"?e==="always":n.isTTY===!0&&n.hasColors()}function g(e,n="  "){return e.replace(/\n$/,"").split(`
`).map(t=>{let r=t.startsWith("+")?"green":t.startsWith("-")?"red":null;return r===null?`${n}${t}`:[n,[r,t]]})}export{d as a,y as b,g as c};
