// For `node --import`: starts OpenTelemetry before the service loads; docs/deployment.md says how to configure it.
import { register } from 'node:module';

// Without this hook OpenTelemetry does not see the import of Express. It must come first.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
await import('@opentelemetry/auto-instrumentations-node/register');
