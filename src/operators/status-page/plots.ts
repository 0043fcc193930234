import type { FreshnessPolicy } from '../../banks/freshness.ts';
import { HISTORY_MINUTES, type Minute } from '../../telemetry/history.ts';
import { formatCount, formatDuration } from './format.ts';
import { html, type Html } from './html.ts';
import { niceCount, niceDurationMs } from './scale.ts';

// The last hours as small plots. The drawings hold shapes only, stretched to the available width; their labels are HTML
// beside them, and each caption sums its plot up in words.

/** The drawing's own units; the style sheet gives it its size on the screen. */
const WIDTH = 360;
const HEIGHT = 72;

export const renderPlots = (minutes: readonly Minute[], { ttlMs }: FreshnessPolicy): Html => {
  const span = SPANS.find((minutesShown) => minutesShown >= minutes.length) ?? HISTORY_MINUTES;
  const timeline: Timeline = { minutes, offset: span - minutes.length, step: WIDTH / span, span };
  return html`${agePlot(timeline, ttlMs)}${renewalsPlot(timeline)}${callsPlot(timeline)}${requestsPlot(timeline)}`;
};

/** Lengths of the time axis in minutes: the shortest that holds the whole history is used. */
const SPANS = [15, 60, HISTORY_MINUTES];

/** The newest minute is at the right edge. */
interface Timeline {
  readonly minutes: readonly Minute[];
  /** Minutes at the left edge that are from before the service started. */
  readonly offset: number;
  /** The width of a minute. */
  readonly step: number;
  readonly span: number;
}

const agePlot = (timeline: Timeline, ttlMs: number): Html => {
  const ages = timeline.minutes.map(({ oldestAgeMs }) => oldestAgeMs);
  const oldestMs = Math.max(0, ...known(ages));
  const topMs = niceDurationMs(1.15 * Math.max(ttlMs, oldestMs));
  const yOf = (ageMs: number): string => round(HEIGHT * (1 - ageMs / topMs));
  const points = ages.flatMap((age, index) =>
    age === undefined ? [] : [`${round(xOf(timeline, index + 0.5))},${yOf(age)}`],
  );
  return figure(timeline, {
    title: 'Age of the cached list',
    summary: points.length === 0 ? 'no list' : `at most ${formatDuration(oldestMs)}`,
    axis: [formatDuration(topMs), '0'],
    legend: html`<span class="key key-limit">stale after ${formatDuration(ttlMs)}</span>`,
    shapes: html`<line class="limit" x1="0" x2="${WIDTH}" y1="${yOf(ttlMs)}" y2="${yOf(ttlMs)}" /><polyline
        class="line"
        points="${points.join(' ')}"
      />`,
  });
};

/** Successes grow up from the middle, failures down, both on one scale. */
const renewalsPlot = (timeline: Timeline): Html => {
  const { minutes } = timeline;
  const top = niceCount(Math.max(...minutes.map(({ renewed, failed }) => Math.max(renewed, failed))));
  const middle = HEIGHT / 2;
  const heightOf = (count: number): number => (middle - 1) * (count / top);
  return figure(timeline, {
    title: 'Renewals per minute',
    summary: `${total(minutes, 'renewed')} succeeded, ${total(minutes, 'failed')} failed`,
    axis: [String(top), '0', String(top)],
    legend: html`<span class="key key-ok">succeeded, upwards</span>
      <span class="key key-failed">failed, downwards</span>`,
    shapes: html`<line class="axis" x1="0" x2="${WIDTH}" y1="${middle}" y2="${middle}" />${drawEach(
        minutes,
        'renewed',
        (count, index) =>
          bar(timeline, index, { y: middle - heightOf(count), height: heightOf(count), name: 'ok' }),
      )}${drawEach(minutes, 'failed', (count, index) =>
        bar(timeline, index, { y: middle, height: heightOf(count), name: 'failed' }),
      )}`,
  });
};

const callsPlot = (timeline: Timeline): Html => {
  const slowest = timeline.minutes.map(({ slowestCallMs }) => slowestCallMs);
  const longestMs = Math.max(0, ...known(slowest));
  const topMs = niceCount(longestMs);
  return figure(timeline, {
    title: 'Provider’s response time',
    summary: known(slowest).length === 0 ? 'no calls' : `at most ${formatMs(longestMs)}`,
    axis: [formatMs(topMs), '0'],
    legend: html`<span class="key key-plain">slowest call of each minute</span>`,
    shapes: html`${slowest.flatMap((ms, index) => (ms === undefined ? [] : [column(timeline, index, ms / topMs, 'plain')]))}`,
  });
};

const requestsPlot = (timeline: Timeline): Html => {
  const { minutes } = timeline;
  const requests = total(minutes, 'requests');
  const busiest = Math.max(0, ...minutes.map((minute) => minute.requests));
  const top = niceCount(busiest);
  return figure(timeline, {
    title: 'Requests per minute',
    summary: requests === 0 ? 'none' : `${formatCount(requests, 'request', 'requests')}, at most ${busiest}`,
    axis: [String(top), '0'],
    legend: html`<span class="key key-plain">all</span>
      <span class="key key-failed">answered with 5xx: ${total(minutes, 'failedRequests')}</span>`,
    shapes: html`${drawEach(minutes, 'requests', (count, index) =>
      column(timeline, index, count / top, 'plain'),
    )}${drawEach(minutes, 'failedRequests', (count, index) =>
      column(timeline, index, count / top, 'failed'),
    )}`,
  });
};

interface Figure {
  readonly title: string;
  readonly summary: string;
  /** The labels of the y axis at equal distances, from the top. */
  readonly axis: readonly string[];
  readonly legend: Html;
  readonly shapes: Html;
}

const figure = ({ span }: Timeline, { title, summary, axis, legend, shapes }: Figure): Html =>
  html` <figure>
    <figcaption><b>${title}</b> <span>${summary}</span></figcaption>
    <div class="plot">
      <p class="y-axis">${axis.map((label) => html`<span>${label}</span>`)}</p>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${shapes}</svg>
      <p class="x-axis"><span>${formatDuration(span * 60_000)} ago</span><span>now</span></p>
    </div>
    <p class="legend">${legend}</p>
  </figure>`;

interface Bar {
  readonly y: number;
  readonly height: number;
  /** Its class in the style sheet. */
  readonly name: 'plain' | 'ok' | 'failed';
}

const bar = (timeline: Timeline, index: number, { y, height, name }: Bar): Html => {
  const width = barWidth(timeline);
  const x = round(xOf(timeline, index) + (timeline.step - width) / 2);
  return html`<rect
    class="${name}"
    x="${x}"
    y="${round(y)}"
    width="${round(width)}"
    height="${round(height)}"
  />`;
};

/** A bar that stands on the x axis, as a share of the whole height. Never too flat to be seen. */
const column = (timeline: Timeline, index: number, share: number, name: Bar['name']): Html => {
  const height = Math.max(2, HEIGHT * share);
  return bar(timeline, index, { y: HEIGHT - height, height, name });
};

/** A minute of six hours is too narrow to be seen, so its bar overlaps its neighbours'. */
const barWidth = ({ step }: Timeline): number => Math.max(2, step * 0.8);

const xOf = ({ offset, step }: Timeline, index: number): number => (offset + index) * step;
const round = (value: number): string => String(Math.round(value * 10) / 10);

const known = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value) => value !== undefined);

type Counter = 'renewed' | 'failed' | 'requests' | 'failedRequests';

/** What `draw` makes of each minute whose counter is not 0. */
const drawEach = (
  minutes: readonly Minute[],
  counter: Counter,
  draw: (count: number, index: number) => Html,
): Html[] =>
  minutes.flatMap((minute, index) => (minute[counter] === 0 ? [] : [draw(minute[counter], index)]));

const total = (minutes: readonly Minute[], counter: Counter): number =>
  minutes.reduce((sum, minute) => sum + minute[counter], 0);

const formatMs = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
