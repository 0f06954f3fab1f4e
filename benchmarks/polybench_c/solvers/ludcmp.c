/* PolyBench ludcmp: A x = b by elimination without pivots; each sum is kept in a scalar. */
void ludcmp(float b[restrict N], float A[restrict N][N], float x[restrict N],
            float y[restrict N]) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) {
            float w = A[i][j];
            for (int k = 0; k < j; k++) w -= A[i][k] * A[k][j];
            A[i][j] = w / A[j][j];
        }
        for (int j = i; j < N; j++) {
            float w = A[i][j];
            for (int k = 0; k < i; k++) w -= A[i][k] * A[k][j];
            A[i][j] = w;
        }
    }
    for (int i = 0; i < N; i++) {
        float w = b[i];
        for (int j = 0; j < i; j++) w -= A[i][j] * y[j];
        y[i] = w;
    }
    for (int i = N - 1; i >= 0; i--) {
        float w = y[i];
        for (int j = i + 1; j < N; j++) w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    }
}
