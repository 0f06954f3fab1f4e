/* PolyBench correlation: of every two columns of a table. */
#include <math.h>

void correlation(float data[restrict N][M], float corr[restrict M][M], float mean[restrict M],
                 float stddev[restrict M]) {
    static float columns[M][N], products[M][M];
    for (int j = 0; j < M; j++) mean[j] = 0;
    for (int j = 0; j < M; j++)
        for (int i = 0; i < N; i++) mean[j] += data[i][j];
    for (int j = 0; j < M; j++) mean[j] /= N;
    for (int j = 0; j < M; j++) stddev[j] = 0;
    for (int j = 0; j < M; j++)
        for (int i = 0; i < N; i++) stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
    for (int j = 0; j < M; j++) {
        stddev[j] = sqrtf(stddev[j] / N);
        stddev[j] = stddev[j] <= 0.1f ? 1.0f : stddev[j];
    }
    const float root = sqrtf((float)N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= root * stddev[j];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) columns[j][i] = data[i][j];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) products[i][j] = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            for (int k = 0; k < N; k++) products[i][j] += columns[i][k] * data[k][j];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) corr[i][j] = i == j ? 1.0f : products[i][j];
}
