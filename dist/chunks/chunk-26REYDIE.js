import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
var e=["visible","authorised","resource","risk","approval"];export{e as a};
