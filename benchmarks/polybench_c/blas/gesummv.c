/* PolyBench gesummv: y = alpha A x + beta B x. */
void gesummv(float A[restrict N][N], float B[restrict N][N], float x[restrict N],
             float y[restrict N]) {
    float Ax[N], Bx[N];
    for (int i = 0; i < N; i++) Ax[i] = 0;
    for (int i = 0; i < N; i++) Bx[i] = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) Ax[i] += A[i][j] * x[j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) Bx[i] += B[i][j] * x[j];
    for (int i = 0; i < N; i++) y[i] = 1.5f * Ax[i] + 1.2f * Bx[i];
}
