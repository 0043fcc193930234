// For `node --import`: starts OpenTelemetry before the service loads; docs/apm.md says how to configure it.
import '@opentelemetry/auto-instrumentations-node/register';
