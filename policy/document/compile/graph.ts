/** A graph of tasks, by their index. */
export interface Graph {
  ids: readonly string[]
  /** For each task the tasks it needs, each once. */
  needs: readonly (readonly number[])[]
}

/** The graph of tasks that name what they need by id. */
export function indexed(tasks: readonly { id: string; needs: readonly string[] }[]): Graph {
  const indexOf = new Map(tasks.map(({ id }, index) => [id, index]))
  const needs = tasks.map(task => task.needs.flatMap(id => indexOf.get(id) ?? []))
  return { ids: tasks.map(({ id }) => id), needs }
}

/** Topological order, ties in declaration order; tasks on or behind a cycle are left out. */
export function topologicalOrder({ needs }: Graph): number[] {
  const missing = needs.map(list => list.length)
  const dependents = dependentsOf(needs)
  const ready = new Heap()
  for (const [task, count] of missing.entries()) if (count === 0) ready.push(task)

  const order: number[] = []
  for (let task = ready.pop(); task !== undefined; task = ready.pop()) {
    order.push(task)
    for (const dependent of dependents[task] ?? []) {
      const left = (missing[dependent] ?? 0) - 1
      missing[dependent] = left
      if (left === 0) ready.push(dependent)
    }
  }
  return order
}

/** Each cycle once, as the tasks on it in the order in which they need each other. */
export function cycles({ needs }: Graph, order: readonly number[]): number[][] {
  const settled = new Set(order)
  const found: number[][] = []
  for (let start = 0; start < needs.length; start++) {
    const path: number[] = []
    const position = new Map<number, number>()
    let task: number | undefined = start
    while (task !== undefined && !settled.has(task) && !position.has(task)) {
      position.set(task, path.length)
      path.push(task)
      task = needs[task]?.find(need => !settled.has(need))
    }
    if (task !== undefined && position.has(task)) found.push(path.slice(position.get(task)))
    for (const visited of path) settled.add(visited)
  }
  return found
}

export function dependentsOf(needs: Graph['needs']): number[][] {
  const dependents: number[][] = needs.map(() => [])
  for (const [task, list] of needs.entries()) {
    for (const need of list) dependents[need]?.push(task)
  }
  return dependents
}

/** Answers whether one task needs another, directly or through others; one walk for each task that asks. */
export class Closure {
  readonly #needs: Graph['needs']
  readonly #seen: Int32Array
  #stamp = 0
  #task = -1

  constructor(graph: Graph) {
    this.#needs = graph.needs
    this.#seen = new Int32Array(graph.needs.length)
  }

  /** Whether `task` starts only after `other` has ended. */
  holds(task: number, other: number): boolean {
    const direct = this.#needs[task] ?? []
    // The common case, without a walk; a long list is walked once instead of searched for each question.
    if (direct.length <= 8 && direct.includes(other)) return true
    if (this.#task !== task) this.#walk(task)
    return this.#seen[other] === this.#stamp
  }

  #walk(task: number): void {
    this.#task = task
    this.#stamp++
    const open = [...(this.#needs[task] ?? [])]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (this.#seen[next] === this.#stamp) continue
      this.#seen[next] = this.#stamp
      for (const need of this.#needs[next] ?? []) open.push(need)
    }
  }
}

/** Smallest number first. */
class Heap {
  readonly #items: number[] = []

  push(item: number): void {
    const items = this.#items
    let at = items.push(item) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if ((items[parent] ?? 0) <= item) break
      items[at] = items[parent] ?? 0
      at = parent
    }
    items[at] = item
  }

  pop(): number | undefined {
    const items = this.#items
    const top = items[0]
    const last = items.pop()
    if (last === undefined || items.length === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && (items[child + 1] ?? 0) < (items[child] ?? 0)) child++
      if ((items[child] ?? 0) >= last) break
      items[at] = items[child] ?? 0
      at = child
    }
    items[at] = last
    return top
  }
}
