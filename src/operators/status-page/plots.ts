import type { FreshnessPolicy } from '../../banks/freshness.ts';
import { HISTORY_MINUTES, type Minute } from '../../telemetry/history.ts';
import { formatCount, formatDuration } from './format.ts';
import { html, type Html } from './html.ts';

// The last hours as four small plots. The drawings hold shapes only, stretched to the available width; their labels are
// HTML beside them, and each caption sums its plot up in words.

export const renderPlots = (minutes: readonly Minute[], { ttlMs }: FreshnessPolicy): Html => {
  const ages = minutes.map(({ oldestAgeMs }) => oldestAgeMs);
  const calls = minutes.map(({ slowestCallMs }) => slowestCallMs);
  // A count of 0 is not drawn.
  const renewed = minutes.map((minute) => minute.renewed || undefined);
  const failed = minutes.map((minute) => minute.failed || undefined);
  const requests = minutes.map((minute) => minute.requests || undefined);
  const failedRequests = minutes.map((minute) => minute.failedRequests || undefined);
  const requestCount = formatCount(sum(requests), 'request', 'requests');
  return html`
    ${agePlot(ages, ttlMs)}
    ${barPlot('Renewals per minute', `${sum(renewed)} succeeded, ${sum(failed)} failed`, [
      { name: 'ok', legend: 'succeeded, upwards', values: renewed },
      { name: 'failed', legend: 'failed, downwards', values: failed, hangs: true },
    ])}
    ${barPlot(
      'Provider’s response time',
      calls.some((ms) => ms !== undefined) ? `at most ${formatMs(largest(calls))}` : 'no calls',
      [{ name: 'plain', legend: 'slowest call of each minute', values: calls }],
      formatMs,
    )}
    ${barPlot(
      'Requests per minute',
      sum(requests) === 0 ? 'none' : `${requestCount}, at most ${largest(requests)}`,
      [
        { name: 'plain', legend: 'all', values: requests },
        { name: 'failed', legend: `answered with 5xx: ${sum(failedRequests)}`, values: failedRequests },
      ],
    )}
  `;
};

/** A value for each minute, the newest last; nothing is drawn for undefined. */
type PerMinute = readonly (number | undefined)[];

interface Series {
  /** Its colour's name in the style sheet. */
  readonly name: 'plain' | 'ok' | 'failed';
  readonly legend: string;
  readonly values: PerMinute;
  /** Its bars hang from a line in the middle, and those of the other series stand on it. */
  readonly hangs?: true;
}

/** The drawing's own units; the style sheet gives it its size on the screen. y grows downwards. */
const WIDTH = 360;
const HEIGHT = 72;

const agePlot = (ages: PerMinute, ttlMs: number): Html => {
  const { xOf } = timeAxis(ages.length);
  const topMs = roundDurationMs(1.15 * Math.max(ttlMs, largest(ages)));
  const yOf = (ageMs: number): string => round(HEIGHT * (1 - ageMs / topMs));
  const points = ages.flatMap((age, index) =>
    age === undefined ? [] : [`${round(xOf(index + 0.5))},${yOf(age)}`],
  );
  return figure({
    title: 'Age of the cached list',
    summary: points.length === 0 ? 'no list' : `at most ${formatDuration(largest(ages))}`,
    minutes: ages.length,
    labels: [formatDuration(topMs), '0'],
    legend: [['limit', `stale after ${formatDuration(ttlMs)}`]],
    shapes: html`${line('limit', yOf(ttlMs))}<polyline class="line" points="${points.join(' ')}" />`,
  });
};

/** A bar for each value of each series, all to one scale. */
const barPlot = (
  title: string,
  summary: string,
  series: readonly Series[],
  format: (value: number) => string = String,
): Html => {
  const minutes = series[0]?.values.length ?? 0;
  const { step, xOf } = timeAxis(minutes);
  // A minute of six hours is too narrow to be seen, so its bar overlaps its neighbours'.
  const width = Math.max(2, step * 0.8);
  const top = roundCount(largest(series.flatMap(({ values }) => values)));
  const isSplit = series.some(({ hangs }) => hangs);
  const zero = isSplit ? HEIGHT / 2 : HEIGHT;
  const longest = isSplit ? zero - 1 : zero;
  const bars = series.flatMap(({ name, values, hangs }) =>
    values.flatMap((value, index) => {
      if (value === undefined) return [];
      // None is too flat to be seen.
      const height = Math.max(2, longest * (value / top));
      const [x, y] = [xOf(index) + (step - width) / 2, hangs ? zero : zero - height];
      return html`<rect
        class="${name}"
        x="${round(x)}"
        y="${round(y)}"
        width="${round(width)}"
        height="${round(height)}"
      />`;
    }),
  );
  return figure({
    title,
    summary,
    minutes,
    labels: isSplit ? [format(top), '0', format(top)] : [format(top), '0'],
    legend: series.map(({ name, legend }) => [name, legend]),
    shapes: html`${isSplit ? line('axis', round(zero)) : undefined}${bars}`,
  });
};

/** A horizontal line through the whole drawing. */
const line = (name: 'limit' | 'axis', y: string): Html =>
  html`<line class="${name}" x1="0" x2="${WIDTH}" y1="${y}" y2="${y}" />`;

interface Figure {
  readonly title: string;
  readonly summary: string;
  /** The length of the history. */
  readonly minutes: number;
  /** The labels of the y axis at equal distances, from the top. */
  readonly labels: readonly string[];
  /** The names of colours in the style sheet, and what each stands for. */
  readonly legend: readonly (readonly [name: string, text: string])[];
  readonly shapes: Html;
}

const figure = ({ title, summary, minutes, labels, legend, shapes }: Figure): Html =>
  html` <figure>
    <figcaption><b>${title}</b> <span>${summary}</span></figcaption>
    <div class="plot">
      <p class="y-axis">${labels.map((label) => html`<span>${label}</span>`)}</p>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${shapes}</svg>
      <p class="x-axis">
        <span>${formatDuration(timeAxis(minutes).span * 60_000)} ago</span><span>now</span>
      </p>
    </div>
    <p class="legend">${legend.map(([name, text]) => html`<span class="key key-${name}">${text}</span> `)}</p>
  </figure>`;

/** Lengths of the time axis in minutes: the shortest that holds the whole history is used. */
const SPANS = [15, 60, HISTORY_MINUTES];

/** The newest minute is at the right edge; at the left edge are those from before the start. */
const timeAxis = (minutes: number) => {
  const span = SPANS.find((length) => length >= minutes) ?? HISTORY_MINUTES;
  const step = WIDTH / span;
  return { span, step, xOf: (index: number): number => (span - minutes + index) * step };
};

const sum = (values: PerMinute): number => values.reduce<number>((total, value = 0) => total + value, 0);

const largest = (values: PerMinute): number => Math.max(0, ...values.map((value = 0) => value));

const round = (value: number): string => String(Math.round(value * 10) / 10);

const formatMs = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`;

const ROUND_DIGITS = [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** The top of an axis: the smallest round integer that is not below `value`, so that its label is short; at least 1. */
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
