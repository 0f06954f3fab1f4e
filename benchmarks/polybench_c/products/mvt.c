/* PolyBench mvt: x1 += A y1, x2 += A' y2. */
void mvt(float A[restrict N][N], float y1[restrict N], float y2[restrict N], float x1[restrict N],
         float x2[restrict N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) x1[i] += A[i][j] * y1[j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) x2[j] += A[i][j] * y2[i];
}
