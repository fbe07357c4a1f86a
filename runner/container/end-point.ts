/** Where an engine answers: a socket of this host, or a port. */
export type EndPoint =
  | { socketPath: string }
  | { host: string; port: number; protocol: 'http' | 'https'; ca?: string; cert?: string; key?: string }
