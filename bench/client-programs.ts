import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MANY, type Client } from './client.ts';
import { LOAD_CPU } from './processes.ts';

// Clients that are programs of their own, with their default headers.

/** For those that take milliseconds per request. */
const SOME = 500;

const run = ([command = '', ...args]: readonly string[]): Promise<unknown> =>
  promisify(execFile)('taskset', ['-c', LOAD_CPU, command, ...args]);

const isRunnable = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

type Command = (url: string, requests: number, directory: string) => readonly string[];

const program = (name: string, requests: number, check: readonly string[], command: Command): Client => ({
  name,
  requests,
  isInstalled: () => isRunnable(check[0] ?? '', ...check.slice(1)),
  open: async ({ url, directory }) => ({
    send: (count) => run(command(url, count, directory)),
    close: async () => undefined,
  }),
});

const CURL = ['curl', '--version'];
const AB = ['ab', '-V'];

const CURL_EACH =
  'for _ in $(seq "$1"); do curl --silent --fail --compressed --output /dev/null "$0" || exit 1; done';

const python = (name: string, module: string, code: readonly string[]): Client =>
  program(`Python, ${name}`, MANY, ['python3', '-c', `import ${module}`], (url, requests) => [
    'python3',
    '-c',
    [`import sys, ${module}`, 'url = sys.argv[1]', ...code].join('\n'),
    url,
    String(requests),
  ]);

const HTTP_CLIENT = [
  'from urllib.parse import urlsplit',
  'connection = http.client.HTTPConnection(urlsplit(url).netloc)',
  'for _ in range(int(sys.argv[2])):',
  ' connection.request("GET", "/banks")',
  ' response = connection.getresponse()',
  ' assert response.status == 200 and response.read()',
];
const URLLIB = ['for _ in range(int(sys.argv[2])):', ' assert urllib.request.urlopen(url).read()'];
const REQUESTS = [
  'session = requests.Session()',
  'for _ in range(int(sys.argv[2])):',
  ' session.get(url).raise_for_status()',
];

/** Prefers HTTP/2, so its requests offer an upgrade, unless it is told to use HTTP/1.1. */
const java = (name: string, version: 'HTTP_2' | 'HTTP_1_1'): Client =>
  program(`Java's HttpClient, ${name}`, MANY, ['java', '--list-modules'], (url, requests, directory) => {
    const file = join(directory, 'Requests.java');
    writeFileSync(
      file,
      `import java.net.URI; import java.net.http.*; import java.net.http.HttpResponse.BodyHandlers;
public class Requests { public static void main(String[] args) throws Exception {
  var client = HttpClient.newBuilder().version(HttpClient.Version.${version}).build();
  var request = HttpRequest.newBuilder(URI.create(args[0])).build();
  for (int left = Integer.parseInt(args[1]); left > 0; left--)
    if (client.send(request, BodyHandlers.ofString()).statusCode() != 200) System.exit(1);
} }
`,
    );
    return ['java', file, url, String(requests)];
  });

export const CLIENT_PROGRAMS: readonly Client[] = [
  program('curl, one connection', MANY, CURL, (url, requests) => [
    ...'curl --silent --fail --compressed --output /dev/null'.split(' '),
    `${url}?[1-${requests}]`,
  ]),
  program('curl, a process per request', SOME, CURL, (url, requests) => [
    'sh',
    '-c',
    CURL_EACH,
    url,
    String(requests),
  ]),
  program('wget', MANY, ['wget', '--version'], (url, requests) => [
    ...'wget --quiet --output-document /dev/null'.split(' '),
    ...Array.from({ length: requests }, () => url),
  ]),
  program('ab', MANY, AB, (url, requests) => ['ab', '-q', '-n', String(requests), url]),
  program('ab -k', MANY, AB, (url, requests) => ['ab', '-q', '-k', '-n', String(requests), url]),
  python('http.client', 'http.client', HTTP_CLIENT),
  python('urllib (a connection per request)', 'urllib.request', URLLIB),
  python('requests, a session', 'requests', REQUESTS),
  java('HTTP/1.1', 'HTTP_1_1'),
  java('its default (offers HTTP/2)', 'HTTP_2'),
];
