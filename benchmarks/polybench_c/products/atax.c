/* PolyBench atax: y = A' (A x). */
void atax(float A[restrict M][N], float x[restrict N], float y[restrict N]) {
    float tmp[M];
    for (int i = 0; i < M; i++) tmp[i] = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) tmp[i] += A[i][j] * x[j];
    for (int j = 0; j < N; j++) y[j] = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) y[j] += A[i][j] * tmp[i];
}
