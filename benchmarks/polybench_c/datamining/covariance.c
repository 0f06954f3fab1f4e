/* PolyBench covariance: of every two columns of a table. */
void covariance(float data[restrict N][M], float cov[restrict M][M], float mean[restrict M]) {
    for (int j = 0; j < M; j++) mean[j] = 0;
    for (int j = 0; j < M; j++)
        for (int i = 0; i < N; i++) mean[j] += data[i][j];
    for (int j = 0; j < M; j++) mean[j] /= N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) data[i][j] -= mean[j];
    for (int i = 0; i < M; i++)
        for (int j = i; j < M; j++) {
            cov[i][j] = 0;
            for (int k = 0; k < N; k++) cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= N - 1.0f;
            cov[j][i] = cov[i][j];
        }
}
