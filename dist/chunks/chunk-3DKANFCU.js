import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{e as t}from"./chunk-J3F4PCDJ.js";function r(e){return t(e.replaceAll(`\r
`,`
`).replaceAll("\r",`
`))}export{r as a};
