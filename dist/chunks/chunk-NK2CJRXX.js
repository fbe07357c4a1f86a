import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
var e=class extends Error{name="ExecutorError";code;constructor(t,r,n){super(r,n),this.code=t}};export{e as a};
