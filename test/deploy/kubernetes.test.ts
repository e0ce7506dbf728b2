import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';

/** deploy/kubernetes: the manifests, held against Kubernetes' own schemas and against each other. */

const folder = new URL('../../deploy/kubernetes/', import.meta.url);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string };
  readonly spec: Record<string, unknown>;
}

const manifestsOf = async (file: string): Promise<Manifest[]> =>
  parseAllDocuments(await readFile(new URL(file, folder), 'utf8')).map((each) => each.toJS() as Manifest);

const KUSTOMIZATION = 'kustomization.yaml';
const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml') && file !== KUSTOMIZATION);
const manifests = (await Promise.all(files.map(manifestsOf))).flat();
const ofKind = (kind: string): Manifest[] => manifests.filter((each) => each.kind === kind);

/** What Kubernetes would refuse; empty for a valid manifest. */
async function complaint(manifest: Manifest): Promise<string> {
  const model = (await import(`kubernetes-models/${manifest.apiVersion}/${manifest.kind}`)) as Record<
    string,
    new (
      content: object,
    ) => { validate(): void }
  >;
  const Model = model[manifest.kind] ?? assert.fail();
  try {
    new Model(manifest).validate();
    return '';
  } catch (error) {
    return String(error);
  }
}

/** The pod templates of the Deployment and of the Job. */
const pods = (): Record<string, unknown>[] =>
  [...ofKind('Deployment'), ...ofKind('Job')].map(
    ({ spec }) => (spec['template'] as { spec: Record<string, unknown> }).spec,
  );

suite('the manifests', () => {
  for (const manifest of manifests) {
    test(`${manifest.kind} ${manifest.metadata.name ?? ''} is valid, and with a planted value it is not`, async () => {
      assert.equal(await complaint(manifest), '');
      const [first = ''] = Object.keys(manifest.spec);
      assert.match(await complaint({ ...manifest, spec: { ...manifest.spec, [first]: true } }), new RegExp(first));
    });
  }

  test('of a deployment, its services, its disruption budget, its network policy and its migration are all there', () => {
    assert.deepEqual(
      manifests.map(({ kind }) => kind).toSorted((one, other) => one.localeCompare(other)),
      ['Deployment', 'Job', 'NetworkPolicy', 'PodDisruptionBudget', 'Service', 'Service'],
    );
  });

  test('pods run without rights, on a root that is read-only', () => {
    assert.equal(pods().length, 2);
    for (const pod of pods()) {
      const { runAsNonRoot, seccompProfile } = pod['securityContext'] as Record<string, unknown>;
      assert.deepEqual(
        { runAsNonRoot, seccompProfile },
        { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      );
      for (const { securityContext } of pod['containers'] as { securityContext: object }[]) {
        assert.deepEqual(securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });

  test('no pod that reaches the operator port without a proxy chooses the address that is counted and recorded', () => {
    const containers = pods().flatMap((pod) => pod['containers'] as { env: { name: string }[] }[]);
    const names = new Set(containers.flatMap(({ env }) => env.map(({ name }) => name)));
    assert.ok(names.has('TIBA_TRUSTED_PROXIES'));
    assert.ok(!names.has('TIBA_OPERATOR_TRUSTED_PROXIES'));
  });

  test('the owner of the schema is known to the migration alone, and production.md creates both Secrets', async () => {
    const secretsOf = (kind: string): unknown[] =>
      ofKind(kind).flatMap(({ spec }) => {
        const { volumes } = (spec['template'] as { spec: { volumes: { secret?: { secretName: string } }[] } }).spec;
        return volumes.flatMap(({ secret }) => (secret === undefined ? [] : [secret.secretName]));
      });
    assert.deepEqual([secretsOf('Deployment'), secretsOf('Job')], [['tiba'], ['tiba-migrate']]);
    const page = await readFile(new URL('../../docs/production.md', import.meta.url), 'utf8');
    for (const [name, manifest] of [
      ['tiba', 'tiba.yaml'],
      ['tiba-migrate', 'migrate.yaml'],
    ] as const) {
      const command = new RegExp(`create secret generic ${name} (?:[^\\n]*\\\\\\n)*.*`).exec(page)?.[0] ?? '';
      const created = new Set([...command.matchAll(/--from-file=(\S+)/g)].map(([, file]) => file));
      const text = await readFile(new URL(manifest, folder), 'utf8');
      const read = [...text.matchAll(/value: \/etc\/tiba\/([^ ]+)/g)].map(([, file]) => file);
      assert.ok(read.length > 0 && read.every((file) => created.has(file)), command);
      assert.equal(created.has('owner-url'), name === 'tiba-migrate');
    }
  });

  test('the services, the budget and the network policy are about the pods of the deployment', () => {
    const labels = { app: 'tiba' };
    for (const { spec } of ofKind('Service')) assert.deepEqual(spec['selector'], labels);
    for (const { spec } of ofKind('PodDisruptionBudget')) assert.deepEqual(spec['selector'], { matchLabels: labels });
    const policy = ofKind('NetworkPolicy')[0] ?? assert.fail();
    assert.deepEqual(policy.spec['podSelector'], { matchLabels: labels });
    const ports = (policy.spec['ingress'] as { ports: { port: number }[] }[]).map((each) => each.ports[0]?.port);
    const [pod] = pods();
    const [container] = (pod ?? assert.fail())['containers'] as { ports: { containerPort: number }[] }[];
    assert.deepEqual(
      ports,
      container?.ports.map(({ containerPort }) => containerPort),
    );
  });

  test('the kustomization names each manifest that can be applied again, and the image of all', async () => {
    const text = await readFile(new URL(KUSTOMIZATION, folder), 'utf8');
    const { resources, images, ...rest } = parse(text) as {
      resources: string[];
      images: { name: string; newTag: string }[];
    };
    // Kustomize refuses fields that it does not know.
    assert.deepEqual(rest, {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      namespace: 'tiba',
    });
    assert.deepEqual(
      [...resources, 'migrate.yaml'].toSorted((one, other) => one.localeCompare(other)),
      files.toSorted((one, other) => one.localeCompare(other)),
    );
    const used = pods().flatMap((pod) => (pod['containers'] as { image: string }[]).map(({ image }) => image));
    assert.deepEqual(new Set(used), new Set(images.map(({ name, newTag }) => `${name}:${newTag}`)));
  });
});
