/**
 * Room of JSON Schema, draft 2020-12: which schemas can be used, and which values satisfy them. Pure, bounded, nothing is
 * ever fetched. It brings a regular expression engine of its own and is loaded late: see load.ts.
 */
export { checkSchema, validate } from './validate.ts'
