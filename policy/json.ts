/** A value that JSON can carry. Numbers are finite; integers stay within ±(2^53 - 1). */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A JSON object. */
export type JsonObject = { [key: string]: Json }
