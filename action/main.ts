import '../runner/no-inspector.ts'

// The GitHub Action's main entry. In a bundle whatever is imported by name comes before what acts by being imported.
await import('./step.ts')
