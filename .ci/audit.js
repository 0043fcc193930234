import { spawnSync } from 'node:child_process';

// Fails on a known vulnerability, high or critical, of a production dependency. `npm audit` fails just the same when
// the registry does not answer, or has no such service, as mirrors often do: that is reported here and is no failure.

const { stdout, stderr } = spawnSync(
  'npm',
  ['audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=30000'],
  {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  },
);

/** What npm answered; undefined where that is not JSON. */
const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const report = parse(stdout);
const counts = report?.metadata?.vulnerabilities;
if (counts === undefined) {
  const reason = report?.message ?? report?.error?.summary ?? stderr;
  process.stdout.write(
    `not checked, the registry gave no answer: ${String(reason).trim().split('\n')[0]}\n`,
  );
} else {
  for (const { name, severity, via, range } of Object.values(report.vulnerabilities)) {
    const titles = via.map((cause) => cause.title ?? cause).join('; ');
    process.stdout.write(`${severity}: ${name} ${range}: ${titles}\n`);
  }
  process.stdout.write(
    `${counts.high + counts.critical} high or critical of ${counts.total} known\n`,
  );
  if (counts.high + counts.critical > 0) process.exitCode = 1;
}
