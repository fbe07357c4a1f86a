import { join } from 'node:path'

/** Directory of the ledger of a job without a control plane; it ends with the job. */
export function ledgerFolder(temp: string): string {
  return join(temp, 'agentctl')
}

export function ledgerFile(temp: string): string {
  return join(ledgerFolder(temp), 'ledger.db')
}
