/* PolyBench bicg: s = A' r, q = A p. */
void bicg(float A[restrict N][M], float p[restrict M], float r[restrict N], float s[restrict M],
          float q[restrict N]) {
    for (int i = 0; i < M; i++) s[i] = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) s[j] += A[i][j] * r[i];
    for (int i = 0; i < N; i++) q[i] = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) q[i] += A[i][j] * p[j];
}
