/** What a schema may be and what checking a value may cost; whatever is beyond is refused by name. */
export const schemaLimits = {
  /** Schemas within a schema. */
  schemas: 10_000,
  /** Keys and indexes from the outermost schema to an inner one. */
  depth: 128,
  /** Characters of one pattern, and instructions of the program that it becomes. */
  patternCharacters: 1_000,
  patternProgram: 5_000,
  /** Faults of a schema told at once. */
  problems: 20,
  /** Errors of a value told at once. */
  errors: 10,
  /** Characters of a shown path or list. */
  shownCharacters: 200,
  /** What checking one value may cost: ten for each schema on each value, one for each character and item looked at. A few seconds. */
  steps: 20_000_000,
  /** Schemas evaluated within one another, references included. */
  evaluationDepth: 500,
} as const
