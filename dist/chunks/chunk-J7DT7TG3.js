import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
var e={bytes:1048576,nodes:2e5,depth:64,faults:100,resolvedCharacters:16777216,resolvedDepth:160,expandedTasks:2e4,planCharacters:33554432};export{e as a};
