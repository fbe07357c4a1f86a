import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
function o(){return import("./json-schema-G6O7JJ3C.js")}export{o as a};
