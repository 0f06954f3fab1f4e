/* PolyBench gemver: A += u1 v1' + u2 v2', x += beta A' y + z, w += alpha A x. */
void gemver(float u1[restrict N], float v1[restrict N], float u2[restrict N], float v2[restrict N],
            float y[restrict N], float z[restrict N], float A[restrict N][N], float x[restrict N],
            float w[restrict N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) x[i] = x[i] + 1.2f * A[j][i] * y[j];
    for (int i = 0; i < N; i++) x[i] = x[i] + z[i];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) w[i] = w[i] + 1.5f * A[i][j] * x[j];
}
