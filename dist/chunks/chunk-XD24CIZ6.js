import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);
var p=/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\ufff0-\ufffb]/gu;function f(o,t){return o.replace(p,n=>t&&(n===`
`||n==="	")?n:`\\u{${n.codePointAt(0)?.toString(16)}}`)}export{f as a};
