/**
 * The tables, by version: a migration is a list of statements that lead from the version before it. Large cells stand
 * last in their rows, so that reading the others does not touch overflow pages.
 */
export const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE runs (
      n INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, state TEXT NOT NULL, epoch INTEGER NOT NULL, holder TEXT,
      lease_expires_at TEXT, cancel_requested INTEGER NOT NULL, pause TEXT, workflow_name TEXT NOT NULL,
      document TEXT NOT NULL, workflow_digest TEXT NOT NULL, plan_digest TEXT NOT NULL, floor_digest TEXT, sha TEXT,
      head TEXT, actor TEXT, parent TEXT, resume_with TEXT NOT NULL, instance_key TEXT, created_seq INTEGER NOT NULL,
      created_at TEXT NOT NULL, ended_at TEXT, settings TEXT NOT NULL, requesters TEXT NOT NULL, instance TEXT,
      outputs TEXT, plan TEXT NOT NULL) STRICT`,
    'CREATE INDEX runs_by_instance ON runs (instance_key, n) WHERE instance_key IS NOT NULL',
    `CREATE TABLE reservations (
      run TEXT PRIMARY KEY, instance_key TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, parent TEXT, instance TEXT NOT NULL,
      settings TEXT NOT NULL, requesters TEXT NOT NULL) STRICT, WITHOUT ROWID`,
    `CREATE TABLE tasks (
      run TEXT NOT NULL, task TEXT NOT NULL, position INTEGER NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT NULL,
      failure TEXT NOT NULL, started_at TEXT, ended_at TEXT, needs TEXT NOT NULL, error TEXT, condition TEXT, output TEXT,
      PRIMARY KEY (run, task)) STRICT, WITHOUT ROWID`,
    `CREATE TABLE memory (
      run TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, key)) STRICT, WITHOUT ROWID`,
    `CREATE TABLE effects (
      n INTEGER PRIMARY KEY, run TEXT NOT NULL, effect TEXT NOT NULL, task TEXT NOT NULL, attempt INTEGER NOT NULL, ordinal INTEGER NOT NULL,
      state TEXT NOT NULL, denial TEXT, operation TEXT NOT NULL, tool TEXT NOT NULL, agent TEXT, capability TEXT NOT NULL,
      effect_class TEXT NOT NULL, risk TEXT NOT NULL, idempotency TEXT NOT NULL, isolation TEXT NOT NULL,
      input_digest TEXT NOT NULL, binding_digest TEXT NOT NULL, asked INTEGER NOT NULL, approval TEXT,
      requested_at TEXT NOT NULL, started_at TEXT, finished_at TEXT, error TEXT, binding TEXT NOT NULL,
      decision TEXT NOT NULL, artifacts TEXT NOT NULL, reconciliations TEXT NOT NULL, input TEXT NOT NULL, result TEXT,
      UNIQUE (run, effect)) STRICT`,
    `CREATE TABLE pauses (
      pause TEXT PRIMARY KEY, run TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL, short_digest TEXT NOT NULL,
      issue_number INTEGER, issue_id INTEGER, issue_url TEXT, body_digest TEXT, later TEXT NOT NULL) STRICT`,
    'CREATE INDEX pauses_by_run ON pauses (run)',
    'CREATE UNIQUE INDEX pauses_by_issue ON pauses (issue_number) WHERE issue_number IS NOT NULL',
    `CREATE TABLE items (
      approval TEXT PRIMARY KEY, pause TEXT NOT NULL, run TEXT NOT NULL, number INTEGER NOT NULL, effect TEXT NOT NULL,
      binding_digest TEXT NOT NULL, needed INTEGER NOT NULL, requested_at TEXT NOT NULL, reason TEXT NOT NULL,
      resolution TEXT, decision TEXT NOT NULL, expected TEXT NOT NULL) STRICT`,
    'CREATE INDEX items_by_pause ON items (pause, number)',
    'CREATE INDEX items_open ON items (pause) WHERE resolution IS NULL',
    `CREATE TABLE votes (
      approval TEXT NOT NULL, person TEXT NOT NULL, vote TEXT NOT NULL, at TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (approval, person)
      ) STRICT, WITHOUT ROWID`,
    'CREATE TABLE comments (comment INTEGER PRIMARY KEY, pause TEXT NOT NULL) STRICT',
    `CREATE TABLE events (
      n INTEGER PRIMARY KEY, chain TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, actor TEXT NOT NULL, type TEXT NOT NULL,
      subject TEXT NOT NULL, data_digest TEXT NOT NULL, hash TEXT NOT NULL, salt BLOB, data TEXT, UNIQUE (chain, seq)
      ) STRICT`,
    'CREATE TABLE commands (run TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (run, id)) STRICT, WITHOUT ROWID',
    `CREATE TABLE blobs (
      sha256 TEXT PRIMARY KEY, bytes INTEGER NOT NULL, complete INTEGER NOT NULL, run TEXT, created_at TEXT NOT NULL
      ) STRICT, WITHOUT ROWID`,
    'CREATE TABLE blob_parts (sha256 TEXT NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (sha256, part)) STRICT',
    `CREATE TABLE blob_refs (
      sha256 TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (sha256, run)) STRICT, WITHOUT ROWID`,
    `CREATE TABLE inbox (
      n INTEGER PRIMARY KEY, delivery TEXT NOT NULL UNIQUE, event TEXT NOT NULL, action TEXT NOT NULL, comment INTEGER,
      state TEXT NOT NULL, attempts INTEGER NOT NULL, received_at TEXT NOT NULL, due_at TEXT NOT NULL, outcome TEXT,
      last_error TEXT, payload TEXT NOT NULL) STRICT`,
    'CREATE UNIQUE INDEX inbox_by_comment ON inbox (comment, action) WHERE comment IS NOT NULL',
    "CREATE INDEX inbox_due ON inbox (due_at) WHERE state = 'due'",
    `CREATE TABLE outbox (
      n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run TEXT, kind TEXT NOT NULL, state TEXT NOT NULL,
      attempts INTEGER NOT NULL, due_at TEXT NOT NULL, last_error TEXT, payload TEXT NOT NULL) STRICT`,
    "CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'due'",
    'CREATE INDEX outbox_by_run ON outbox (run) WHERE run IS NOT NULL',
    'CREATE TABLE once (key TEXT PRIMARY KEY, expires_at TEXT NOT NULL) STRICT, WITHOUT ROWID',
  ],
  ['ALTER TABLE effects ADD COLUMN enforcement TEXT'],
  [
    'ALTER TABLE tasks ADD COLUMN compensates TEXT',
    `CREATE TABLE long_term (
      namespace TEXT NOT NULL, key TEXT NOT NULL, written_at TEXT NOT NULL, expires_at TEXT, run TEXT NOT NULL,
      effect TEXT NOT NULL, text TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (namespace, key)) STRICT`,
    'CREATE INDEX long_term_expiry ON long_term (expires_at) WHERE expires_at IS NOT NULL',
  ],
  // A table of its own: behind the plan in its row, a list of runs would read every plan's overflow pages.
  ['CREATE TABLE host_floors (run TEXT PRIMARY KEY, floor TEXT NOT NULL) STRICT, WITHOUT ROWID'],
]

/** What a dump holds, in this order. */
export const dumpTables = [
  'runs',
  'host_floors',
  'reservations',
  'tasks',
  'memory',
  'long_term',
  'effects',
  'pauses',
  'items',
  'votes',
  'comments',
  'events',
  'commands',
  'blobs',
  'blob_parts',
  'blob_refs',
  'inbox',
  'outbox',
  'once',
] as const
