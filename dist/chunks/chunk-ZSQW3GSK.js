import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
import{join as e}from"node:path";function t(r){return e(r,"agentctl")}function i(r){return e(t(r),"ledger.db")}export{t as a,i as b};
