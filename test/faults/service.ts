import type { Fault } from './fault.ts';

// Faults in src/service.ts, which connects the rooms, and in src/doctor.

const STOP = ['test/service.test.ts', 'test/process.test.ts'];
const DOCTOR = ['test/doctor/doctor.test.ts', 'test/doctor/network.test.ts'];

export const service: readonly Fault[] = [
  {
    file: 'src/service.ts',
    code: '      list.stop();\n',
    fault: '',
    effect: 'the list is renewed after the stop',
    tests: STOP,
  },
  {
    file: 'src/service.ts',
    code: 'lastGoodList.onSettled(), provider.close()]);',
    fault: 'lastGoodList, provider.close()]);',
    effect: 'a snapshot that is being written when the service stops is lost',
    tests: [...STOP, 'test/sharing/snapshot-file.test.ts'],
  },
  {
    file: 'src/service.ts',
    code: 'lastGoodList.onSettled(), provider.close()]);',
    fault: 'lastGoodList.onSettled(), provider]);',
    effect: 'the stop leaves a connection to the provider open',
    tests: STOP,
  },
  {
    file: 'src/service.ts',
    code: '      fleet?.stop();\n',
    fault: '',
    effect: 'the stop leaves the connection to Redis open, which keeps the process alive',
    tests: [...STOP, 'test/sharing/redis-faults.test.ts'],
  },
  {
    file: 'src/service.ts',
    code: 'lastGoodList.save(event.list, list.status().ageMs ?? 0)',
    fault: 'lastGoodList.save(event.list, 0)',
    effect: 'a list that took long to encode seems younger to other replicas',
    unnoticed: 'encoding takes milliseconds, and a list is used for an hour',
    tests: ['test/service.test.ts', 'test/sharing/fleet.test.ts'],
  },
  {
    file: 'src/service.ts',
    code: 'managementPort.close(), ',
    fault: '',
    effect: 'the management port stays open after the stop',
    tests: STOP,
  },
  {
    file: 'src/service.ts',
    code: 'endsByMs: nowMs + config.shutdownGraceMs',
    fault: 'endsByMs: nowMs + noticeMs + config.shutdownGraceMs',
    effect: 'the status page names a later end of the drain than the real one',
    tests: ['test/browser/status-page.test.ts', 'test/process.test.ts'],
  },
  {
    file: 'src/doctor/observe.ts',
    code: '      delete seen.answer;\n',
    fault: '',
    effect: 'the doctor explains the first answer when the repeated request broke off',
    tests: DOCTOR,
  },
  {
    file: 'src/doctor/observe.ts',
    code: "    const endpoint = seen.tokenAfterMs === undefined ? 'tokenEndpoint' : 'provider';\n",
    fault: "    const endpoint = seen.tokenAfterMs === undefined ? 'provider' : 'provider';\n",
    effect: 'the doctor takes a failure at the token endpoint for one at the provider',
    tests: DOCTOR,
  },
  {
    file: 'src/doctor/diagnosis.ts',
    code: 'days >= MIN_CERTIFICATE_DAYS',
    fault: 'days > 0',
    effect: 'the doctor does not warn of a certificate that is about to expire',
    tests: DOCTOR,
  },
  {
    file: 'src/doctor/survey.ts',
    code: 'filled: values.length / objects.length',
    fault: 'filled: values.length / entries.length',
    effect: 'entries that are not objects lower the share of every field',
    tests: DOCTOR,
  },
  {
    file: 'src/doctor/observe.ts',
    code: "      if (!hosts.includes(String(memberAt(message, 'connectParams', 'host')))) return;\n",
    fault: '',
    effect: 'the doctor takes a connection to the proxy for one to the provider',
    tests: ['test/doctor/network.test.ts', 'test/doctor/doctor.test.ts'],
  },
];
