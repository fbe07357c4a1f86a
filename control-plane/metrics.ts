import type { Metrics } from './dependencies.ts'

const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Request counts and durations by route, in Prometheus text form. */
export function processMetrics(): Metrics {
  const counts = new Map<string, number>()
  const durations = new Map<string, { buckets: number[]; sum: number; count: number }>()
  return {
    observe(method, route, status, seconds) {
      const labels = `method="${method}",route="${route}"`
      const counted = `${labels},status="${status}"`
      counts.set(counted, (counts.get(counted) ?? 0) + 1)
      const seen = durations.get(labels) ?? { buckets: bounds.map(() => 0), sum: 0, count: 0 }
      seen.buckets = seen.buckets.map((n, index) => (seconds <= (bounds[index] ?? 0) ? n + 1 : n))
      durations.set(labels, { buckets: seen.buckets, sum: seen.sum + seconds, count: seen.count + 1 })
    },
    render() {
      const lines = ['# TYPE agentctl_http_requests_total counter']
      for (const [labels, n] of counts) lines.push(`agentctl_http_requests_total{${labels}} ${n}`)
      lines.push('# TYPE agentctl_http_request_seconds histogram')
      for (const [labels, { buckets, sum, count }] of durations) {
        buckets.forEach((n, index) => {
          lines.push(`agentctl_http_request_seconds_bucket{${labels},le="${bounds[index]}"} ${n}`)
        })
        lines.push(`agentctl_http_request_seconds_bucket{${labels},le="+Inf"} ${count}`)
        lines.push(`agentctl_http_request_seconds_sum{${labels}} ${sum}`)
        lines.push(`agentctl_http_request_seconds_count{${labels}} ${count}`)
      }
      return `${lines.join('\n')}\n`
    },
  }
}
