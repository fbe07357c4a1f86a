import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
var e=class extends Error{name="LedgerError";code;constructor(t,r,n){super(r,n),this.code=t}},s=["stale_epoch","lease_held","not_found","conflict","invalid","locked","read_only","full","corrupt","newer","unreachable","unauthorised"];export{e as a,s as b};
