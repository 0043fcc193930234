import type { FreshnessPolicy } from '../../banks/freshness.ts';
import { HISTORY_MINUTES, type Minute } from '../../telemetry/history.ts';
import { formatCount } from '../../format.ts';
import { formatDuration } from './format.ts';
import { html, type Html } from './html.ts';

// The last hours as four small plots. The drawings hold shapes only, stretched to the available
// width; their labels are HTML next to them, and each caption sums up its plot in words.

interface Plot {
  readonly title: string;
  readonly summary: string;
  /** The values at the ends of the y axis; the lower one is 0 by default. */
  readonly top: number;
  readonly bottom?: number;
  /** Makes labels of values. */
  readonly format?: (value: number) => string;
  /** Drawn as bars, all to one scale. */
  readonly series?: readonly Series[];
  /** Drawn as a line, with another one at the limit. */
  readonly line?: { readonly values: PerMinute; readonly limit: number; readonly legend: string };
}

/** A value for each minute, the newest last. */
type PerMinute = readonly (number | undefined)[];

interface Series {
  /** Its colour's name in the style sheet. */
  readonly name: 'plain' | 'ok' | 'failed';
  readonly legend: string;
  /** Bars of negative values hang from the zero line. */
  readonly values: PerMinute;
}

export const renderPlots = (minutes: readonly Minute[], { ttlMs }: FreshnessPolicy): Html => {
  const valuesOf = <Name extends keyof Minute>(name: Name): Minute[Name][] =>
    minutes.map((minute) => minute[name]);
  const [ages, calls] = [valuesOf('oldestAgeMs'), valuesOf('slowestCallMs')];
  const [renewed, failed] = [valuesOf('renewed'), valuesOf('failed')];
  const [requests, failedRequests] = [valuesOf('requests'), valuesOf('failedRequests')];
  const requestCount = formatCount(sum(requests), 'request', 'requests');
  const mostRenewals = roundCount(largest([...renewed, ...failed]));
  const plots: readonly Plot[] = [
    {
      title: 'Age of the cached list',
      summary: hasAny(ages) ? `at most ${formatDuration(largest(ages))}` : 'no list',
      top: roundDurationMs(1.15 * Math.max(ttlMs, largest(ages))),
      format: formatDuration,
      line: { values: ages, limit: ttlMs, legend: `stale after ${formatDuration(ttlMs)}` },
    },
    {
      title: 'Renewals per minute',
      summary: `${sum(renewed)} succeeded, ${sum(failed)} failed`,
      top: mostRenewals,
      bottom: -mostRenewals,
      series: [
        { name: 'ok', legend: 'succeeded, upwards', values: renewed },
        { name: 'failed', legend: 'failed, downwards', values: failed.map((count) => -count) },
      ],
    },
    {
      title: 'Provider’s response time',
      summary: hasAny(calls) ? `at most ${formatMs(largest(calls))}` : 'no calls',
      top: roundCount(largest(calls)),
      format: formatMs,
      series: [{ name: 'plain', legend: 'slowest call of each minute', values: calls }],
    },
    {
      title: 'Requests per minute',
      summary: sum(requests) === 0 ? 'none' : `${requestCount}, at most ${largest(requests)}`,
      top: roundCount(largest(requests)),
      series: [
        { name: 'plain', legend: 'all', values: requests },
        {
          name: 'failed',
          legend: `answered with 5xx: ${sum(failedRequests)}`,
          values: failedRequests,
        },
      ],
    },
  ];
  return html`${plots.map((plot) => renderPlot(plot, minutes.length))}`;
};

/** The drawing's own units; the style sheet gives it its size on the screen. y grows downwards. */
const WIDTH = 360;
const HEIGHT = 72;

/** Lengths of the time axis in minutes: the shortest that holds the whole history is used. */
const SPANS = [15, 60, HISTORY_MINUTES];

const renderPlot = (plot: Plot, minutes: number): Html => {
  const { title, summary, top, bottom = 0, format = String, series = [], line } = plot;
  const span = SPANS.find((length) => length >= minutes) ?? HISTORY_MINUTES;
  const step = WIDTH / span;
  /** The newest minute is at the right edge; at the left edge are those from before the start. */
  const xOf = (index: number): number => (span - minutes + index) * step;
  const yOf = (value: number): number => (HEIGHT * (top - value)) / (top - bottom);
  // A minute of six hours is too narrow to be seen, so its bar overlaps its neighbours'.
  const width = Math.max(2, step * 0.8);

  const bars = series.flatMap(({ name, values }) =>
    values.flatMap((value, index) => {
      if (!value) return [];
      // No bar may be too flat to be seen.
      const height = Math.max(2, Math.abs(yOf(value) - yOf(0)));
      const x = round(xOf(index) + (step - width) / 2);
      const y = round(value > 0 ? yOf(0) - height : yOf(0));
      return html`<rect
        class="${name}"
        x="${x}"
        y="${y}"
        width="${round(width)}"
        height="${round(height)}"
      />`;
    }),
  );
  const points = (line?.values ?? []).flatMap((value, index) =>
    value === undefined ? [] : [`${round(xOf(index + 0.5))},${round(yOf(value))}`],
  );
  const labels = [format(top), '0', ...(bottom < 0 ? [format(-bottom)] : [])];
  const legend = line ? [{ name: 'limit', legend: line.legend }] : series;
  return html` <figure>
    <figcaption><b>${title}</b> <span>${summary}</span></figcaption>
    <div class="plot">
      <p class="y-axis">${labels.map((label) => html`<span>${label}</span>`)}</p>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
        ${bottom < 0 && horizontal('axis', yOf(0))}${bars}
        ${line && horizontal('limit', yOf(line.limit))}
        <polyline class="line" points="${points.join(' ')}" />
      </svg>
      <p class="x-axis"><span>${formatDuration(span * 60_000)} ago</span><span>now</span></p>
    </div>
    <p class="legend">
      ${legend.map(({ name, legend: text }) => html`<span class="key key-${name}">${text}</span> `)}
    </p>
  </figure>`;
};

/** A line through the whole drawing. */
const horizontal = (name: 'limit' | 'axis', y: number): Html =>
  html`<line class="${name}" x1="0" x2="${WIDTH}" y1="${round(y)}" y2="${round(y)}" />`;

const hasAny = (values: PerMinute): boolean => values.some((value) => value !== undefined);

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

const largest = (values: PerMinute): number => Math.max(0, ...values.map((value = 0) => value));

const round = (value: number): string => String(Math.round(value * 10) / 10);

const formatMs = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`;

const ROUND_DIGITS = [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10];

/**
 * The top of an axis: the smallest round integer that is not below `value`, so that its label is
 * short; at least 1.
 */
const roundCount = (value: number): number => {
  const count = Math.max(1, Math.ceil(value));
  const magnitude = 10 ** Math.floor(Math.log10(count));
  return Math.round(magnitude * (ROUND_DIGITS.find((digits) => digits * magnitude >= count) ?? 10));
};

const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000];

/** As {@link roundCount}, in the largest unit of time that `ms` fills. */
const roundDurationMs = (ms: number): number => {
  const unitMs = UNITS_MS.find((unit) => unit <= ms) ?? 1_000;
  return unitMs * roundCount(ms / unitMs);
};
