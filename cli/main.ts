#!/usr/bin/env node
import '../runner/no-inspector.ts'

// The terminal's entry. In a bundle whatever is imported by name comes before what acts by being imported.
await import('./terminal.ts')
