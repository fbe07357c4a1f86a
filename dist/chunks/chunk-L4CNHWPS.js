import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
function o(){return import("./json-schema-KXQKOVUB.js")}export{o as a};
