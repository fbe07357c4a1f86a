/**
 * How long a runner and its server wait, in milliseconds. A test may set smaller figures and must put them back.
 * https://docs.github.com/en/actions/reference/workflow-cancellation-reference and actions/runner src/Runner.Sdk/ProcessInvoker.cs.
 */
export const timing = {
  /** From SIGINT to SIGTERM. */
  interrupt: 7_500,
  /** From SIGTERM to SIGKILL. */
  terminate: 2_500,
  /** After a step's process has ended, for its open pipes to close. */
  drain: 5_000,
  /** One minute of `timeout-minutes`. */
  minute: 60_000,
  /** Calls back when a `timeout-minutes` is over; answers how to forget it. A test may say for itself when that is. */
  after(milliseconds: number, act: () => void): () => void {
    const timer = setTimeout(act, milliseconds)
    return () => clearTimeout(timer)
  },
}
