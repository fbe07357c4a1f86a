import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
function o(){return import("./json-schema-75WQ7BIB.js")}export{o as a};
