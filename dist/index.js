import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import"./chunks/chunk-2L3GE3AP.js";await import("./chunks/step-D26YYGRR.js");
