import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
var e=["approved","rejected","expired","cancelled"];var t={minimumApprovals:1,users:null,teams:null,permission:"write",preventSelfApproval:!1,expiresAfterSeconds:604800,plainWords:!0,notify:[],labels:["agentctl","approval"],issueDetail:"full",onSuperseded:"warn"};export{e as a,t as b};
