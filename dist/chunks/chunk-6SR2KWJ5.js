import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
var t=["visible","authorised","resource","risk","approval"];export{t as a};
