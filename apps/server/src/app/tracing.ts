import { hostname } from 'node:os';
import type { Settings } from '../config/config.ts';
import type { Sampling } from '../observability/tracing/sampling.ts';
import type { Tracing } from '../observability/tracing/tracing.ts';
import type { AppContext } from './app-context.ts';

/** Starts tracing, if a collector is set. OpenTelemetry is loaded only then: it takes time and memory. */
export async function openTracing({ options, metrics, onClose }: Omit<AppContext, 'tracing'>): Promise<Tracing | null> {
  const { settings, logging } = options;
  const { otlpEndpoint, otelServiceName, otelResourceAttributes } = settings;
  if (otlpEndpoint === null || settings.otelDisabled) return null;
  const { startOpenTelemetry } = await import('../observability/tracing/open-telemetry.ts');
  const { tracing, close } = startOpenTelemetry({
    url: `${otlpEndpoint.replace(/\/$/, '')}/v1/traces`,
    headers: settings.otlpHeaders ?? {},
    resource: { 'host.name': hostname(), ...otelResourceAttributes, 'service.name': otelServiceName },
    sampling: samplingOf(settings),
    spans: metrics.traceSpans,
    log: logging.log,
  });
  onClose('tracing', close);
  return tracing;
}

function samplingOf({ otelSampler, otelSamplerArg }: Pick<Settings, 'otelSampler' | 'otelSamplerArg'>): Sampling {
  const followsParent = otelSampler.startsWith('parentbased_');
  if (otelSampler.endsWith('always_on')) return { ratio: 1, followsParent };
  if (otelSampler.endsWith('always_off')) return { ratio: 0, followsParent };
  return { ratio: otelSamplerArg, followsParent };
}
