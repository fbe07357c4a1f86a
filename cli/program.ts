import { Command, Option } from 'commander'
import manifest from '../package.json' with { type: 'json' }
import type { Base, Handler } from './command.ts'
import { defaultLedgerFile } from './options.ts'
import { usesColour } from './output/text.ts'

type Load = () => Promise<Handler>
type Perform = (load: Load, operands: readonly string[], options: unknown) => Promise<void>

/** The whole command line. A command's code is loaded when it is called, so that the others cost no time to start. */
export function createProgram(
  { stdout, stderr }: Pick<Base, 'stdout' | 'stderr'>,
  output: 'human' | 'json',
  perform: Perform,
): Command {
  const program = new Command('agentctl')
    .description('Runs declared automation under a policy, stops for people, and proves what happened.')
    .version(manifest.version)
    .addOption(
      new Option('--output <format>', 'text for people, or one JSON envelope')
        .choices(['human', 'json'])
        .default('human'),
    )
    .addOption(new Option('--color <when>', 'colours').choices(['auto', 'always', 'never']).default('auto'))
    .option('--db <file>', 'ledger file', defaultLedgerFile)
    .option('--workspace <directory>', 'directory that runs work in (default: the current one)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: text => stdout.write(text),
      // What stands beside an envelope would spoil it.
      writeErr: text => output === 'human' && stderr.write(text),
      // Told once, by whoever prints results.
      outputError: () => {},
      getOutHasColors: () => usesColour('auto', stdout),
      getErrHasColors: () => usesColour('auto', stderr),
    })
    .exitOverride()

  const bind = (command: Command, load: Load): Command =>
    command.action(() => perform(load, command.args, command.optsWithGlobals()))
  addDocumentCommands(program, bind)
  addRunCommands(program, bind)
  addApprovals(program, bind)
  addEffects(program, bind)
  addAudit(program, bind)
  return program
}

type Bind = (command: Command, load: Load) => Command

function addDocumentCommands(program: Command, bind: Bind): void {
  const check = program.command('check <file>').description('find everything that is wrong with a document')
  bind(withDocumentOptions(check), async () => (await import('./commands/check.ts')).check)
  const plan = program.command('plan <file>').description('compile a document and print its plan')
  bind(withDocumentOptions(plan), async () => (await import('./commands/plan.ts')).plan)
  const explain = program
    .command('explain <file> <task>')
    .description("print the five decisions about a task's effect on this host, with the rule that made each")
  bind(withDocumentOptions(explain), async () => (await import('./commands/explain.ts')).explain)
  const schema = program.command('schema').description('print the JSON Schema of documents')
  bind(schema, async () => (await import('./commands/schema.ts')).schema)
  const auth = program.command('auth').description('the secrets that a document refers to')
  const authCheck = auth
    .command('check <file>')
    .description('tell whether each secret could be had here; reads no value and runs no helper')
  bind(authCheck, async () => (await import('./commands/auth-check.ts')).authCheck)
}

function addRunCommands(program: Command, bind: Bind): void {
  const run = program
    .command('run <file>')
    .description('run a document')
    .option('--check', 'predict the run: change nothing, record nothing')
    .option('--diff', 'with --check: show what would be written')
    .option('--interactive', 'ask at the terminal where a person must decide')
  bind(withDocumentOptions(run), async () => (await import('./commands/run.ts')).run)
  const resume = program
    .command('resume <run>')
    .description('go on with a run that was paused or interrupted')
    .option('--interactive', 'ask at the terminal where a person must decide')
  bind(resume, async () => (await import('./commands/resume.ts')).resume)
  const cancel = program
    .command('cancel <run>')
    .description('stop a run')
    .option('--reason <text>', 'kept in the record', 'cancelled at the terminal')
  bind(cancel, async () => (await import('./commands/cancel.ts')).cancel)
  const compensate = program
    .command('compensate <run>')
    .description('undo what succeeded in a run that failed, the last first')
    .option('--reason <text>', 'why; kept in the record', 'compensated at the terminal')
    .option('--actor <name>', 'name recorded beside local:<uid>')
    .option('--interactive', 'ask at the terminal where a person must decide')
  bind(compensate, async () => (await import('./commands/compensate.ts')).compensate)
  const inspect = program.command('inspect <run>').description('show a run: tasks, effects, approvals, outputs')
  bind(inspect, async () => (await import('./commands/inspect.ts')).inspect)
}

function addApprovals(program: Command, bind: Bind): void {
  const approvals = program.command('approvals').description('what waits for a person, and deciding it')
  const list = approvals.command('list [run]').description('approvals of a run; without RUN, all that are open')
  bind(list, async () => (await import('./commands/approvals-list.ts')).approvalsList)
  for (const word of ['approve', 'reject'] as const) {
    const decide = approvals
      .command(`${word} <id>`)
      .description(`${word} one approval`)
      .requiredOption('--reason <text>', 'why; kept in the record')
      .option('--actor <name>', 'name recorded beside local:<uid>')
    bind(decide, async () => (await import('./commands/approvals-decide.ts')).deciding(word))
  }
}

function addEffects(program: Command, bind: Bind): void {
  const effects = program.command('effects').description('what a run did, and settling what nobody saw end')
  bind(
    effects.command('list <run>').description('effects of a run in plan order'),
    async () => (await import('./commands/effects-read.ts')).effectsList,
  )
  bind(
    effects.command('inspect <effect>').description('one effect: input, binding, decision, result'),
    async () => (await import('./commands/effects-read.ts')).effectsInspect,
  )
  const reconcile = effects
    .command('reconcile <effect>')
    .description('say what became of an uncertain effect')
    .addOption(
      new Option('--status <status>', 'what became of it')
        .choices(['applied', 'not-applied', 'compensated'])
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'why; kept in the record')
    .requiredOption('--evidence-file <file>', 'what shows it, JSON or text, at most 1 MiB')
    .option('--result-file <file>', 'what an applied effect gave, as JSON')
    .option('--actor <name>', 'name recorded beside local:<uid>')
  bind(reconcile, async () => (await import('./commands/effects-reconcile.ts')).effectsReconcile)
}

function addAudit(program: Command, bind: Bind): void {
  const audit = program.command('audit').description('the audit trail')
  const show = audit
    .command('show <run>')
    .description('events of a run')
    .option('--after <number>', 'only events after this one', '0')
    .option('--limit <count>', 'at most so many, 1 to 1000', '1000')
  bind(show, async () => (await import('./commands/audit-show.ts')).auditShow)
  const exported = audit
    .command('export [run]')
    .description('write the trail as NDJSON to stdout; without RUN, that of the whole ledger')
    .option('--out <file>', 'write it to a new file instead')
  bind(exported, async () => (await import('./commands/audit-export.ts')).auditExport)
  const verify = audit
    .command('verify <file>')
    .description('verify an exported trail: every hash, the order, the checkpoints')
    .option('--expected-head <hash>', 'hash that the chain must end at')
  bind(verify, async () => (await import('./commands/audit-verify.ts')).auditVerify)
}

function withDocumentOptions(command: Command): Command {
  const collect = (value: string, earlier: string[] | undefined) => [...(earlier ?? []), value]
  return command
    .option('--input <name=value>', 'input, the value as JSON, else as text; repeatable', collect)
    .option('--inputs-file <file>', 'inputs as a YAML or JSON map; --input goes over it')
    .option('--vars-file <file>', "variables that replace the document's; repeatable", collect)
}
